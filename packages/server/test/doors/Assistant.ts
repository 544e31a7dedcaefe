import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { published } from "@reins/testing/process/ServerProcess"
import { assert } from "vitest"

export type Era = "2025" | "2026"

export interface AssistantOptions {
  readonly era: Era
  /** Answers a question for the person. A program without it cannot show any. */
  readonly person?: (message: string) => string | undefined
}

interface Question {
  readonly interaction_id: string
  readonly options: ReadonlyArray<{ readonly id: string; readonly kind: string }>
  /** The digest of the subject, where the question is an approval. */
  readonly digest?: string
}

/** The fields of all tools. Each has some of them. */
export interface Fields {
  readonly session_id: string
  readonly turn_id: string
  readonly console_url: string
  readonly state: string
  readonly open: string
  readonly branch: string
  readonly said: string
  readonly after: number
  readonly next_after: number
  readonly next_offset: number | null
  readonly ended: boolean
  readonly questions: ReadonlyArray<Question>
  readonly turn: { readonly state: string }
  readonly changeset: { readonly id: string; readonly files: number; readonly additions: number }
  readonly diff: string
  readonly content: string
  readonly sessions: ReadonlyArray<{ readonly id: string }>
}

export interface Assistant {
  readonly client: Client
  /** Calls a tool, and gives its fields. */
  readonly call: (name: string, input?: Record<string, unknown>) => Promise<Fields>
  /** Calls a tool that refuses, and gives its words. */
  readonly refused: (name: string, input?: Record<string, unknown>) => Promise<string>
  /** The progress that calls have told. */
  readonly progress: Array<string>
}

const open = new Set<Client>()

/** An assistant on the protocol's own package. */
export const openAssistant = async (transport: Transport, { era, person }: AssistantOptions): Promise<Assistant> => {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: person === undefined ? {} : { elicitation: { form: {} } },
      ...(era === "2026" && { versionNegotiation: { mode: { pin: "2026-07-28" } } })
    }
  )
  if (person !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const choice = person(params.message)
      return choice === undefined ? { action: "decline" } : { action: "accept", content: { choice } }
    })
  await client.connect(transport)
  open.add(client)
  const progress: Array<string> = []
  const send = (name: string, input: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: input }, { onprogress: ({ message = "" }) => progress.push(message) })
  return {
    client,
    progress,
    call: async (name, input) => {
      const { content, isError, structuredContent } = await send(name, input)
      assert.isNotTrue(isError, JSON.stringify(content))
      return structuredContent as Fields
    },
    refused: async (name, input) => {
      const { content, isError } = await send(name, input)
      assert.isTrue(isError, JSON.stringify(content))
      return JSON.stringify(content)
    }
  }
}

export const overHttp = (url: string, apiKey: string, query = ""): Transport =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), {
    requestInit: { headers: { authorization: `Bearer ${apiKey}` } }
  })

export const overStdio = (
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
  args: ReadonlyArray<string> = []
): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [published, "mcp", ...args],
    cwd,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stderr: "ignore"
  })

export const endAssistants = async (): Promise<void> => {
  await Promise.all([...open].map((client) => client.close()))
  open.clear()
}
