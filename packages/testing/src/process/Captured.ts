import { vi } from "vitest"

/** Takes what is written to a stream, as a pipe does. */
export const captured = (stream: NodeJS.WriteStream) => {
  let text = ""
  const { isTTY } = stream
  stream.isTTY = false
  const write = vi.spyOn(stream, "write").mockImplementation((chunk) => {
    text += String(chunk)
    return true
  })
  const release = () => {
    write.mockRestore()
    stream.isTTY = isTTY
  }
  return { text: () => text, release }
}
