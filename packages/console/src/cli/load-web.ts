import { ConsoleError } from './error.ts'

/** Imports the package of the pages for a command. Throws `missing` if it isn't installed. */
export async function loadWeb(command: string): Promise<typeof import('@reply/web')> {
  try {
    return await import('@reply/web')
  } catch (cause) {
    throw new ConsoleError('missing', `\`${command}\` requires @reply/web. Run \`npm install @reply/web\`.`, { cause })
  }
}

/** Returns the error of a port that is taken as one for people, and every other error as it is. */
export function portError(port: number | undefined, cause: unknown): unknown {
  const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
  return isTaken
    ? new ConsoleError('usage', `Port ${port} is in use. Use another one, or omit --port.`, { cause })
    : cause
}
