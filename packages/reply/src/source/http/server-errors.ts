import { ReplyError } from '../../error.ts'
import { isFields } from '../../fields.ts'
import { sentenceOf } from '../../text/sentence.ts'

/** The most specific message in an error from the server or the network, as a sentence of at most 300 UTF-16 units. */
export function reasonOf(error: unknown): string {
  return (configFault(error) ?? messageIn(error, 0))?.slice(0, 300) ?? 'no reason given'
}

function messageIn(error: unknown, depth: number): string | undefined {
  if (typeof error === 'string') return sentenceOf(error) || undefined
  if (typeof error !== 'object' || error === null || depth > 3) return undefined
  const inner = ['cause', 'data']
    .map((key) => messageIn(fieldOf(error, key), depth + 1))
    .find((message) => message !== undefined)
  if (inner !== undefined) return inner
  const fields = ['code', 'message', 'name'].map((key) => fieldOf(error, key))
  const found = fields.find((field): field is string => typeof field === 'string' && field !== '')
  return found && sentenceOf(found)
}

/**
 * The problem of a config that OpenCode 1 can't read. Replaces the server's message, which quotes the file and so may
 * contain keys.
 */
function configFault(error: unknown): string | undefined {
  if (!isFields(error) || !isFields(error.data) || typeof error.data.path !== 'string') return undefined
  const { path, issues } = error.data
  if (error.name === 'ConfigJsonError') return `${path} is not valid JSON, so correct that file`
  if (error.name !== 'ConfigInvalidError') return undefined
  const wrong = Array.isArray(issues) && isFields(issues[0]) && Array.isArray(issues[0].path) ? issues[0].path : []
  const where = wrong.length === 0 ? '' : `: ${wrong.join('.')}`
  return `${path} is not a valid config${where}, so correct that file`
}

function fieldOf(value: object, key: string): unknown {
  return Reflect.get(value, key)
}

/** The error for a directory that the server doesn't have. */
export function noDirectory(name: string, directory: string, cause?: unknown): ReplyError {
  const message = `${name} can't open the directory ${JSON.stringify(directory)}: it doesn't exist on the server's machine, or it can't be read. Correct \`directory\`.`
  return new ReplyError('refused', message, { cause })
}
