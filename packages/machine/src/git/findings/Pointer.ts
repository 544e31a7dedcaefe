const beginning = Buffer.from("version https://git-lfs.github.com/spec/")

/** No pointer has so many bytes. */
export const pointerBytes = 1024

/** True for the pointer that Git LFS stores in the place of a content. */
export const isPointer = (bytes: Uint8Array): boolean =>
  bytes.length < pointerBytes && beginning.equals(bytes.subarray(0, beginning.length))
