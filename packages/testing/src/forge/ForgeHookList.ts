/** A webhook of a repository as the forge holds it: its id, and the body that it was made or changed with. */
export interface HeldHook {
  readonly id: number
  body: Readonly<Record<string, unknown>>
}

/** The webhooks of a repository by the paths that GitHub, GitLab and Gitea share: a list, and `/<id>` below it. */
export class ForgeHookList {
  readonly held: Array<HeldHook> = []
  /** The ids that were given, so that none comes again. */
  private given = 70

  /** Adds a hook as the API would, such as one that people have made by hand. */
  readonly add = (body: HeldHook["body"]): HeldHook => {
    const made: HeldHook = { id: ++this.given, body }
    this.held.push(made)
    return made
  }

  /** Answers a call by the rest of its path behind `/hooks`; undefined for another one. */
  readonly answer = (
    method: string,
    rest: string,
    read: () => Readonly<Record<string, unknown>>
  ): { readonly status: number; readonly body: unknown } | undefined => {
    if (rest === "" && method === "GET") return { status: 200, body: this.held.map(shown) }
    if (rest === "" && method === "POST") {
      return { status: 201, body: shown(this.add(read())) }
    }
    const index = this.held.findIndex(({ id }) => rest === `/${id}`)
    const hook = this.held[index]
    if (hook === undefined) return undefined
    if (method === "DELETE") {
      this.held.splice(index, 1)
      return { status: 204, body: undefined }
    }
    hook.body = read()
    return { status: 200, body: shown(hook) }
  }
}

/** GitHub and Gitea have the address in `config`, and an address of the hook itself in `url`. No forge gives the secret back. */
const shown = ({ body, id }: HeldHook): unknown => {
  const { config, token: _, ...rest } = body
  if (typeof config !== "object" || config === null) return { ...rest, id }
  return { ...rest, id, url: `https://forge.example/api/hooks/${id}`, config: { ...config, secret: "********" } }
}
