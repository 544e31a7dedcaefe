import type { KnownForge } from "./ForgeDialects.js"
import { recordings } from "./Recorded.js"

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

  constructor(private readonly kind: KnownForge) {}

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
    if (rest === "" && method === "GET") return { status: 200, body: this.held.map(this.shown) }
    if (rest === "" && method === "POST") {
      return { status: 201, body: this.shown(this.add(read())) }
    }
    const index = this.held.findIndex(({ id }) => rest === `/${id}`)
    const hook = this.held[index]
    if (hook === undefined) return undefined
    if (method === "DELETE") {
      this.held.splice(index, 1)
      return { status: 204, body: undefined }
    }
    hook.body = read()
    return { status: 200, body: this.shown(hook) }
  }

  /** GitHub and Gitea have the address in `config`, and GitHub an address of the hook itself in `url`. No forge gives the secret back. */
  private readonly shown = ({ body, id }: HeldHook): unknown => {
    const { item } = recordings(this.kind)
    const { config, token: _, ...rest } = body
    if (typeof config !== "object" || config === null) return item("GET /projects/{id}/hooks", { ...rest, id })
    const { secret: __, ...told } = { secret: undefined, ...config }
    const hidden = this.kind === "github" ? { secret: "********" } : {}
    const own = this.kind === "github" ? { url: `https://forge.example/api/hooks/${id}` } : {}
    return item("GET /repos/{owner}/{repo}/hooks", { ...rest, ...own, id, config: { ...told, ...hidden } })
  }
}
