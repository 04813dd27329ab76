import { ReplyError } from '../../error.ts'
import { isFields } from '../../fields.ts'
import { sentenceOf } from '../../text/sentence.ts'

/**
 * Returns the most specific message in an error from the server or the network, as a sentence of at most 300 UTF-16
 * units. `no reason given` if it has none. A config that OpenCode 1 can't read is described without quoting it.
 */
export function reasonOf(error: unknown): string {
  return (configFault(error) ?? messageOf(error, 0))?.slice(0, 300) ?? 'no reason given'
}

/**
 * Returns the message of an error's innermost `cause` or `data` that has one, else its own code, message or name, as a
 * sentence. Undefined if there is none. Looks at four levels.
 */
function messageOf(error: unknown, depth: number): string | undefined {
  if (typeof error === 'string') return sentenceOf(error) || undefined
  if (typeof error !== 'object' || error === null || depth > 3) return undefined
  const inner = ['cause', 'data']
    .map((key) => messageOf(fieldOf(error, key), depth + 1))
    .find((message) => message !== undefined)
  if (inner !== undefined) return inner
  const fields = ['code', 'message', 'name'].map((key) => fieldOf(error, key))
  const found = fields.find((field): field is string => typeof field === 'string' && field !== '')
  return found && sentenceOf(found)
}

/**
 * Returns the problem of a config that OpenCode 1 can't read, and undefined for any other error. Replaces the server's
 * message, which quotes the file and so may contain keys.
 */
function configFault(error: unknown): string | undefined {
  if (!isFields(error) || !isFields(error.data) || typeof error.data.path !== 'string') return undefined
  const { path, issues } = error.data
  if (error.name === 'ConfigJsonError') return `${path} is not valid JSON, so correct that file`
  if (error.name !== 'ConfigInvalidError') return undefined
  const invalidPath =
    Array.isArray(issues) && isFields(issues[0]) && Array.isArray(issues[0].path) ? issues[0].path : []
  const where = invalidPath.length === 0 ? '' : `: ${invalidPath.join('.')}`
  return `${path} is not a valid config${where}, so correct that file`
}

/** Returns a property of any object, also of an `Error`. */
function fieldOf(value: object, key: string): unknown {
  return Reflect.get(value, key)
}

/** Returns the error for a directory that the server doesn't have. */
export function noDirectoryError(name: string, directory: string, cause?: unknown): ReplyError {
  const message = `${name} can't open the directory ${JSON.stringify(directory)}: it doesn't exist on the server's machine, or it can't be read. Correct \`directory\`.`
  return new ReplyError('refused', message, { cause })
}
