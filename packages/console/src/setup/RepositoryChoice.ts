import { repositoryAddress } from "@reins/client"

/** A repository as a session takes it, and a sentence where that is another address than the one that was typed. */
export interface RepositoryChoice {
  readonly url: string
  readonly base_ref?: string
  readonly told: string | undefined
}

/**
 * Reads an address, `owner/name`, `git@host:owner/name` or a link. A typed branch goes before the one of a link. An address that begins with
 * `ssh:` stays, because the server may have a key for it.
 */
export const repositoryChoice = (given: string, branch: string): RepositoryChoice => {
  const text = given.trim()
  const address = /^(?:git\+)?ssh:/.test(text) ? undefined : repositoryAddress(text)
  const ref = branch.trim() || address?.pullRequest || address?.refs[0]
  const url = address?.url ?? text
  const isOther = url !== text || (branch.trim() === "" && ref !== undefined)
  return {
    url,
    ...(ref && { base_ref: ref }),
    told: isOther ? `Starts from ${url}${ref ? ` at ${ref}` : ""}.` : undefined
  }
}
