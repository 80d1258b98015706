"""The people's tasks of the path fence: `invoke --list`. People own this file."""

from fence_tasks.invoke_tasks import collection

ns = collection()  # a task of your own: ns.add_task(mine); a name that is taken is refused
