export function bundleOf(entry: string, tsconfig: string): Promise<string>
export function load(program: string): Promise<Record<string, unknown>>
