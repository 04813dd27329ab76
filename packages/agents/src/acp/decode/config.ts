import { ReplyError } from '@reply/core'
import { z } from 'zod'

const config = z.looseObject({ plugin: z.array(z.unknown()).default([]) })

/**
 * Adds a plugin to the settings that OpenCode reads from `OPENCODE_CONFIG_CONTENT`. Throws `invalid` if they are not
 * JSON: OpenCode would also take comments in them.
 */
export function addPlugin(content: string | undefined, plugin: string): string {
  const found = config.safeParse(parsed(content || '{}'))
  if (found.success) return JSON.stringify({ ...found.data, plugin: [...found.data.plugin, plugin] })
  const cure = 'Write it as a JSON object without comments, with a list of plugins if there are any.'
  throw new ReplyError('invalid', `OPENCODE_CONFIG_CONTENT can't be read, so OpenCode was not started. ${cure}`)
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
