"""The Django project of the contenders that need one."""
