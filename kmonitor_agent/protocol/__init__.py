"""Protocol KM1: the only types that the agent, the hub and the app share."""
