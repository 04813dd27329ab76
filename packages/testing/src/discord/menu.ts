import { fieldsOf } from '../recorded/frames.ts'
import { Refusal } from './refusal.ts'

/**
 * The names of commands that replace all of an application's.
 * https://discord.com/developers/docs/interactions/application-commands#bulk-overwrite-global-application-commands
 */
export function commandsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > 100) throw invalid()
  return value.map(fieldsOf).map(({ name, description, type = 1 }) => {
    // https://discord.com/developers/docs/interactions/application-commands#application-command-object
    const isNamed = typeof name === 'string' && /^[-_\p{L}\p{N}]{1,32}$/u.test(name) && name === name.toLowerCase()
    const isSaid = typeof description === 'string' && description.length >= 1 && description.length <= 100
    if (!isNamed || !isSaid || type !== 1) throw invalid()
    return name
  })
}

function invalid(): Refusal {
  return new Refusal(400, 50035, 'Invalid Form Body')
}
