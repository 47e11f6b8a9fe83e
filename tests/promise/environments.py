"""All environments and usages in which a training is to be the same with kmonitor as without."""

from typing import Final

from tests.promise.interpreter import INTERPRETER
from tests.promise.machine import MACHINE
from tests.promise.overridden import OVERRIDDEN
from tests.promise.usages import USAGES
from tests.promise.user_code import USER_CODE

CASES: Final = (*USER_CODE, *OVERRIDDEN, *USAGES, *INTERPRETER, *MACHINE)
