import { join } from "node:path"

export const root = join(import.meta.dirname, "../../..")

/** Where the tools of others are installed. */
export const tools = join(root, "packages/testing/tools")

/** A package as it would be published. */
export interface PackedPackage {
  /** The path of the tarball. */
  readonly tarball: string
  /** A directory with what is in it. */
  readonly unpacked: string
}

export type Packed = Readonly<Record<"core" | "client" | "server", PackedPackage>>

/** A directory outside of the repository with packages in it. */
export interface Installed {
  readonly by: "npm" | "pnpm"
  readonly directory: string
  readonly failed: boolean
  /** All that the package manager has said. */
  readonly output: string
}

/** The core and the server, installed in an empty directory with another release of Node. */
export interface OnNode {
  readonly by: "npm" | "pnpm" | "yarn" | "yarn 4"
  readonly release: string
  /** The path of that Node. */
  readonly node: string
  readonly directory: string
  readonly failed: boolean
  readonly output: string
}

export interface Published {
  readonly packed: Packed
  readonly onNodes: ReadonlyArray<OnNode>
  readonly installed: {
    /** The server and nothing else. */
    readonly server: Installed
    /** The client, with the lowest version of Effect that it takes. */
    readonly client: Installed
    /** The client among the programs that run, test and bundle what uses it. */
    readonly programs: Installed
    /** The client in a project of each release of Next. */
    readonly next: Readonly<Record<"14" | "15", Installed>>
    /** All three, by what they are together with. */
    readonly together: Readonly<Record<TogetherWith, Installed>>
  }
}

export type TogetherWith = `the ${"lowest" | "highest"} peers, by ${"npm" | "pnpm"}`

/** The READMEs of the packages. */
export const readmes = {
  core: "packages/core/README.md",
  client: "packages/client/README.md",
  server: "packages/server/README.md"
}
