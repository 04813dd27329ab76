import { ReplyError } from '../../error.ts'

/** The error for a directory that the server doesn't have. */
export function noDirectory(name: string, directory: string, cause?: unknown): ReplyError {
  const words = `${name} can't open the directory ${JSON.stringify(directory)}: there is none on its machine, or it may not be read.`
  return new ReplyError('refused', `${words} Correct \`directory\`.`, { cause })
}
