import { hash } from "node:crypto"

/**
 * The place of an answer among all: 132 bits of the SHA-256 of its scope and key. A place is short, because each mutation writes one at random
 * into an index, and what that costs grows with its length.
 */
export const answerPlace = ({ key, scope }: { readonly scope: string; readonly key: string }): string =>
  hash("sha256", `${scope}\n${key}`, "base64url").slice(0, 22)

/** The requests among which an Idempotency-Key is used once, and the answers among them that a caller may be given again. */
export interface AnswerScope {
  /** The account, or the route and client address of an anonymous call. Keys of different scopes never meet. */
  readonly scope: string
  /** The workspace of the request, where its path or its credentials tell it. */
  readonly workspace?: string | null
  /** The only workspace whose answers the caller may have; every one of the account unless given. */
  readonly only?: string | null
  /** The scope of an answer that was stored when each API key had one of its own. */
  readonly before?: string
}

interface Request extends AnswerScope {
  readonly key: string
  /** True when the answer holds a secret. */
  readonly sealed: boolean
}

const within = (scope: string, workspace: string | null | undefined): string =>
  workspace == null ? scope : `${scope}:${workspace}`

const holderOf = ({ before, scope }: AnswerScope): string => before ?? scope

/** The scope of an answer as it is stored: the account, its workspace if any, and after a bar who alone may have its secret again. */
export const storedScope = (request: Request): string => {
  const reach = within(request.scope, request.workspace)
  return request.sealed ? `${reach}|${holderOf(request)}` : reach
}

/**
 * The places at which an answer may be. The first is that of the account, where a retry with any other credentials of the account finds it. The
 * second is for a workspace while the first holds an answer of another workspace.
 */
export const placesOf = ({ before, key, scope, workspace }: Request): readonly [string, string, string] => {
  const account = answerPlace({ scope, key })
  const ofWorkspace = workspace == null ? account : answerPlace({ scope: within(scope, workspace), key })
  return [account, ofWorkspace, before === undefined ? account : answerPlace({ scope: before, key })]
}

/** True when the caller may have an answer of that scope. */
export const isVisible = (request: Request, stored: string): boolean => {
  if (stored === request.before) return true
  const [reach, holder] = stored.split("|")
  const isInReach = request.only == null || reach === within(request.scope, request.only)
  return isInReach && (holder === undefined || holder === holderOf(request))
}

/** True when an answer of that scope forbids another request with its key, because both may be of one workspace. */
export const isInTheWay = (request: Request, stored: string): boolean => {
  const [reach] = stored.split("|")
  const own = within(request.scope, request.workspace)
  return stored === request.before || reach === request.scope || own === request.scope || own === reach
}
