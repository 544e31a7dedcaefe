import type { Socket } from "node:net"

/** A message between the two ends of a bench. Values are encoded by the schemas of their verb. */
export type Frame =
  /** From the core: a call with the questions that its ear answers, its end, an answer, and leave for more of a stream. */
  | {
      readonly t: "call"
      readonly id: number
      readonly group: string
      readonly verb: string
      readonly args: unknown
      readonly has: ReadonlyArray<string>
    }
  | { readonly t: "cancel"; readonly id: number }
  | { readonly t: "reply"; readonly id: number; readonly ask: number; readonly value: unknown }
  /** The answer has failed, and the call with it. */
  | { readonly t: "unanswered"; readonly id: number; readonly ask: number }
  | { readonly t: "more"; readonly id: number }
  /** From the bench: parts of a stream, the beginning of what goes on, the ends of a call, a question, and its withdrawal. */
  | { readonly t: "items"; readonly id: number; readonly items: ReadonlyArray<unknown> }
  | { readonly t: "begun"; readonly id: number; readonly value?: unknown }
  | { readonly t: "done"; readonly id: number; readonly value: unknown }
  | { readonly t: "fail"; readonly id: number; readonly error: unknown }
  | { readonly t: "defect"; readonly id: number; readonly message: string }
  | { readonly t: "interrupted"; readonly id: number }
  | {
      readonly t: "ask"
      readonly id: number
      readonly ask: number
      readonly name: string
      readonly args: unknown
      /** The stream of which this asks for the next parts; absent for a question with one answer. */
      readonly of?: number
    }
  | { readonly t: "unask"; readonly id: number; readonly ask: number }

const lengthBytes = 4

/** Writes a frame: its length in four bytes, then its JSON. */
export const writeFrame = (socket: Socket, frame: Frame): void => {
  const body = Buffer.from(JSON.stringify(frame))
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(body.length)
  if (!socket.destroyed) socket.write(Buffer.concat([length, body]))
}

/** Gives each frame of a socket, in their order. */
export const readFrames = (socket: Socket, take: (frame: Frame) => void): void => {
  let held = Buffer.alloc(0)
  socket.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes])
    while (held.length >= lengthBytes) {
      const end = lengthBytes + held.readUInt32BE()
      if (held.length < end) return
      const body = held.toString("utf8", lengthBytes, end)
      held = held.subarray(end)
      // Boundary: the other end writes frames.
      take(JSON.parse(body) as Frame)
    }
  })
}
