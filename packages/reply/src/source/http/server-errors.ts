import { ReplyError } from '../../error.ts'
import { isFields } from '../../fields.ts'
import { sentenceOf } from '../../text/sentence.ts'

/** The most specific message in an error from the server or the network, as a sentence; at most 300 UTF-16 units. */
export function reasonOf(error: unknown): string {
  return (configFault(error) ?? wordsOf(error, 0))?.slice(0, 300) ?? 'no reason given'
}

function wordsOf(error: unknown, depth: number): string | undefined {
  if (typeof error === 'string') return sentenceOf(error) || undefined
  if (typeof error !== 'object' || error === null || depth > 3) return undefined
  const inner = ['cause', 'data']
    .map((key) => wordsOf(fieldOf(error, key), depth + 1))
    .find((words) => words !== undefined)
  if (inner !== undefined) return inner
  const words = ['code', 'message', 'name'].map((key) => fieldOf(error, key))
  const found = words.find((word): word is string => typeof word === 'string' && word !== '')
  return found && sentenceOf(found)
}

/** A config that OpenCode 1 can't read. Its own words quote the file, in which keys may stand. */
function configFault(error: unknown): string | undefined {
  if (!isFields(error) || !isFields(error.data) || typeof error.data.path !== 'string') return undefined
  const { path, issues } = error.data
  if (error.name === 'ConfigJsonError') return `${path} is not valid JSON; correct that file`
  if (error.name !== 'ConfigInvalidError') return undefined
  const wrong = Array.isArray(issues) && isFields(issues[0]) && Array.isArray(issues[0].path) ? issues[0].path : []
  const where = wrong.length === 0 ? '' : `: ${wrong.join('.')}`
  return `${path} is not a valid config${where}; correct that file`
}

function fieldOf(value: object, key: string): unknown {
  return Reflect.get(value, key)
}

/** The error for a directory that the server doesn't have. */
export function noDirectory(name: string, directory: string, cause?: unknown): ReplyError {
  const words = `${name} can't open the directory ${JSON.stringify(directory)}: there is none on its machine, or it may not be read.`
  return new ReplyError('refused', `${words} Correct \`directory\`.`, { cause })
}
