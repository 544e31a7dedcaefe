import { Effect, Option, type Redacted } from "effect"
import { openCredentials } from "../connections/SealedCredentials.js"
import { scrubber } from "../harness/Secrets.js"
import { projectSecretStore } from "../projects/ProjectSecretStore.js"
import { Vault } from "../secrets/Vault.js"
import { Database } from "../store/Database.js"
import { blankPatterns } from "./SecretPatterns.js"
import type { SessionRow } from "./SessionRow.js"

/** Blanks secrets in every text of a value. The value keeps its shape. */
export type Mask = <A>(value: A) => A

/**
 * Makes the mask of a session, for what leaves the installation. It knows the credentials of the workspace's connections and the secrets of the
 * session's project, and the forms of common tokens and private keys.
 */
export const secretMask = Effect.gen(function* () {
  const db = yield* Database
  const vault = yield* Vault
  const secrets = yield* projectSecretStore

  const ofProject = Effect.fnUntraced(function* ({
    project,
    workspace_id
  }: Pick<SessionRow, "project" | "workspace_id">) {
    if (project === null) return []
    const named = yield* secrets.list(project.id)
    const opened = yield* Effect.forEach(named, ({ name }) => secrets.open({ id: project.id, workspace_id }, name))
    return opened.flatMap((secret) => Option.toArray(secret)).map(({ value }) => value)
  })

  return Effect.fnUntraced(function* (session: Pick<SessionRow, "project" | "workspace_id">) {
    const known: ReadonlyArray<Redacted.Redacted> = [
      ...(yield* openCredentials(db, vault, session.workspace_id)),
      ...(yield* ofProject(session))
    ]
    const { scrub } = scrubber(Object.fromEntries(known.map((secret, at) => [String(at), secret])))
    const blankText = (text: string) => blankPatterns(scrub(text))
    // Boundary: texts become texts, and all else stays as it is.
    const mask: Mask = <A>(value: A) => mapTexts(value, blankText) as A
    return mask
  })
})

const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value)
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [change(name), mapTexts(each, change)]))
}
