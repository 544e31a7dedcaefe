export interface DemoRemote {
  readonly url: string
  readonly clone: (branch: string, to: string) => string
  readonly log: () => string
}
export interface DemoServer {
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<void>
  readonly log: () => string
}
/** A bare remote that holds a small project whose test fails. */
export declare const makeRemote: (directory: string) => DemoRemote
/** The built server in a process of its own, on a free port. */
export declare const startServer: (dataDir: string, allowPrivateHosts?: ReadonlyArray<string>) => Promise<DemoServer>
