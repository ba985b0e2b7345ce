//! Data stores, and frameworks that make and empty them.

use crate::program::{Program, act};
use crate::rule::Signal::DestructiveSql;

pub(super) static PROGRAMS: &[Program] = &[
    act(DestructiveSql, "dropdb dropuser pg_dropcluster", "#1"),
    act(DestructiveSql, "hbase", "~drop'|deleteall'|truncate'|disable'|drop_all|drop_namespace"),
    act(DestructiveSql, "drush", "site-install|site:install|si"),
    act(DestructiveSql, "mysqladmin", "@drop|shutdown"),
    act(
        DestructiveSql,
        "mongosh mongo",
        "~dropdatabase|runcommand({drop|.drop(|deletemany({})|remove({})|dropindexes(|dropuser(|\
         shutdownserver(|shutdown:1",
    ),
    act(DestructiveSql, "mongorestore", "@--drop"),
    act(DestructiveSql, "pg_restore", "@--clean|-c"),
    act(DestructiveSql, "etcdctl", "@del @|--prefix|--from-key"),
    act(DestructiveSql, "nodetool", "decommission|removenode|assassinate|clearsnapshot"),
    act(DestructiveSql, "rabbitmqctl rabbitmqadmin", "~reset|delete|purge"),
    act(DestructiveSql, "kafka-topics kafka-topics.sh", "@--delete"),
    act(DestructiveSql, "consul", "kv delete -recurse"),
    act(DestructiveSql, "cypher-shell", "~detachdelete|dropdatabase|dropconstraint"),
    act(DestructiveSql, "influx", "delete"),
    act(DestructiveSql, "nats", "_ rm|purge|del"),
    act(
        DestructiveSql,
        "rails rake prisma artisan php knex sequelize sequelize-cli typeorm mix npx yarn pnpm \
         bundle console symfony sail ddev lando spark heroku doctrine drush drizzle-kit ecto",
        "@db:drop|db:reset|db:drop:all|db:purge|migrate:fresh|migrate:rollback|migrate:reset|\
         db:wipe|db:migrate:reset|db:test:purge|schema:drop|ecto.drop|ecto.reset|db:migrate:undo:all|doctrine:database:drop|\
         doctrine:schema:drop|db:schema:load|migrate:refresh|sql:drop|sql-drop|pg:reset|\
         db:truncate_all|doctrine:schema:drop:full|orm:schema-tool:drop",
    ),
    act(DestructiveSql, "manage.py django-admin", "@flush|reset_db|sqlflush|zero !@test"),
    act(DestructiveSql, "python python3", "..*manage.py @flush|reset_db|sqlflush|zero !@test"),
    act(DestructiveSql, "prisma", "@reset|--force-reset"),
    act(DestructiveSql, "npx yarn pnpm", "@prisma @reset|--force-reset"),
    act(DestructiveSql, "alembic flask", "@downgrade @base"),
    act(DestructiveSql, "diesel sqlx dbmate sea-orm-cli migrate goose", "@reset|drop|fresh"),
    act(DestructiveSql, "dotnet", "@ef @database @drop"),
    act(DestructiveSql, "flyway", "@clean"),
    act(DestructiveSql, "liquibase", "@drop-all|dropAll"),
    act(DestructiveSql, "wp", "@db @reset|drop|clean"),
    act(DestructiveSql, "atlas", "schema clean"),
];
