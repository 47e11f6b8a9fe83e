"""All environments and usages in which a training is to be the same with kmonitor as without."""

from typing import Final

from tests.promise.interpreter import INTERPRETER
from tests.promise.machine import MACHINE
from tests.promise.usages import USAGES
from tests.promise.user_code import USER_CODE

CASES: Final = (*USER_CODE, *USAGES, *INTERPRETER, *MACHINE)
