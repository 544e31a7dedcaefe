import { blankKeys, blankTokens } from "@reins/base/base/Masks"
import { inSlices, sliceLength, slicesOf } from "@reins/base/base/Slices"
import { Vault } from "@reins/base/secrets/Vault"
import { formsOf } from "@reins/machine/harness/Secrets"
import { Effect, Option, type Redacted } from "effect"
import { openCredentials } from "../connections/SealedCredentials.js"
import { projectSecretStore } from "../projects/ProjectSecretStore.js"
import { Database } from "../store/Database.js"
import type { SessionRow } from "./rows/SessionRow.js"

/** Blanks secrets in every text of a value. The value keeps its shape. Others are served between the slices of a long text. */
export type Mask = <A>(value: A) => Effect.Effect<A>

const blank = "[secret]"

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
    const forms = formsOf(Object.fromEntries(known.map((secret, at) => [String(at), secret])))
    // Boundary: texts become texts, and all else stays as it is.
    const mask: Mask = <A>(value: A) => inSlices(() => blanked(value, forms) as Generator<number, A>)
    return mask
  })
})

type Blanking<A> = Generator<number, A>

/** Blanks secrets in a text. A known one may have white space, so it is looked for in the whole text. */
function* blankedText(text: string, forms: ReadonlyArray<string>): Blanking<string> {
  let whole = text
  let done = text.length
  for (const form of forms) {
    whole = whole.replaceAll(form, blank)
    done += whole.length
    if (done < sliceLength) continue
    yield done
    done = 0
  }
  yield done
  whole = blankKeys(whole, blank)
  let clean = ""
  for (const slice of slicesOf(whole)) {
    clean += blankTokens(slice, blank)
    yield slice.length
  }
  return clean
}

function* blanked(value: unknown, forms: ReadonlyArray<string>): Blanking<unknown> {
  if (typeof value === "string") return yield* blankedText(value, forms)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    const items: Array<unknown> = []
    for (const each of value) items.push(yield* blanked(each, forms))
    return items
  }
  const entries: Array<[string, unknown]> = []
  for (const [name, each] of Object.entries(value))
    entries.push([yield* blankedText(name, forms), yield* blanked(each, forms)])
  return Object.fromEntries(entries)
}
