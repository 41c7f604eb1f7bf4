"""Run by Alembic with the connection that `admin` hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
