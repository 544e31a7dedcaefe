/** The words of a comment on a forge, without the marks by which Reins knows its own comments. A forge does not show them either. */
export const commentText = (body: string): string => body.replaceAll(/(?<!\s)\s*<!-- reins:[^<>]*-->/g, "")
