"""The hub: takes what trainings tell, keeps it, answers desktops and passes commands on."""
