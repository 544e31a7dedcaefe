import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { now } from "@reins/base/domain/Timestamp"
import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, Option, type Redacted } from "effect"
import type { Commit } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { ProjectSecret } from "./Project.js"

type Db = Database["Type"]

interface Owner {
  readonly id: string
  readonly workspace_id: string
}

interface SecretRow extends ProjectSecret {
  readonly sealed: string
}

/** A sealed value opens for its name in its project and its workspace only, so that no change of a row leads it to another tenant. */
const contextOf = ({ id, workspace_id }: Owner, name: string): string =>
  canonicalJson(["project secret", workspace_id, id, name])

/** A secret with its value, as the environment of a process gets it. */
export interface OpenSecret {
  readonly value: Redacted.Redacted
  /** The version of the secret, which is another one with each value. */
  readonly version: number
}

/** The rows of the secrets of projects. */
export const projectSecretStore = Effect.map(Effect.all([Database, Vault]), ([db, vault]) => {
  const { sql } = db
  const find = (projectId: string, name: string) =>
    db.first(sql<SecretRow>`select * from project_secrets where project_id = ${projectId} and name = ${name}`)
  return {
    /** The secrets of a project by name, without their values. */
    list: (projectId: string): Effect.Effect<ReadonlyArray<ProjectSecret>> =>
      Effect.map(
        db.all(sql<SecretRow>`select * from project_secrets where project_id = ${projectId} order by name`),
        (rows) => rows.map(shown)
      ),
    /** Gives a secret its first value or another one. The commit holds the project. */
    put: Effect.fnUntraced(function* (project: Owner, name: string, value: Redacted.Redacted) {
      const at = yield* now
      const before = yield* find(project.id, name)
      const sealed = yield* vault.seal(value, contextOf(project, name))
      const row: SecretRow = {
        name,
        version: (before?.version ?? 0) + 1,
        created_at: before?.created_at ?? at,
        updated_at: at,
        sealed
      }
      yield* before === undefined
        ? db.run(sql`insert into project_secrets ${sql.insert({ project_id: project.id, ...row })}`)
        : db.run(sql`update project_secrets set sealed = ${sealed}, version = ${row.version}, updated_at = ${at}
            where project_id = ${project.id} and name = ${name}`)
      return shown(row)
    }) satisfies (
      project: Owner,
      name: string,
      value: Redacted.Redacted
    ) => Effect.Effect<ProjectSecret, never, Commit>,
    /** Destroys a secret and gives what it was; undefined when there is none. The commit holds the project. */
    remove: Effect.fnUntraced(function* (projectId: string, name: string) {
      const before = yield* find(projectId, name)
      if (before === undefined) return undefined
      yield* db.run(sql`delete from project_secrets where project_id = ${projectId} and name = ${name}`)
      return shown(before)
    }) satisfies (projectId: string, name: string) => Effect.Effect<ProjectSecret | undefined, never, Commit>,
    /** A secret with its value; none where it is not there, or no key of the installation opens it. */
    open: Effect.fnUntraced(function* (project: Owner, name: string) {
      const row = yield* find(project.id, name)
      if (row === undefined) return Option.none<OpenSecret>()
      const value = yield* Effect.option(vault.unseal(row.sealed, contextOf(project, name)))
      return Option.map(value, (value): OpenSecret => ({ value, version: row.version }))
    })
  }
})

const shown = ({ created_at, name, updated_at, version }: SecretRow): ProjectSecret => ({
  name,
  version,
  created_at,
  updated_at
})

/** The stored secrets of projects. */
export const secretRecords = (db: Db): Effect.Effect<ReadonlyArray<SealedRecord>> => {
  const { sql } = db
  const rows = db.all(sql<{ project_id: string; name: string; sealed: string; workspace_id: string }>`
    select project_secrets.project_id, project_secrets.name, sealed, workspace_id
    from project_secrets join projects on projects.id = project_secrets.project_id
    order by project_secrets.project_id, project_secrets.name`)
  return Effect.map(rows, (found) =>
    found.map(({ name, project_id, sealed, workspace_id }) => ({
      sealed,
      context: contextOf({ id: project_id, workspace_id }, name),
      replace: (again: string) =>
        db.run(sql`update project_secrets set sealed = ${again}
          where project_id = ${project_id} and name = ${name} and sealed = ${sealed}`)
    }))
  )
}
