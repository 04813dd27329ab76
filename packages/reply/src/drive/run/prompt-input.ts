import { ReplyError } from '../../error.ts'
import type { CommandInput, PromptInput } from '../../source/input.ts'
import type { SourceCommand, SourcePrompt } from '../../source/port.ts'

/** Throws `invalid` for an empty prompt. */
export function toSourcePrompt({ sessionID: _, title: __, ...prompt }: PromptInput): SourcePrompt {
  const { text, files = [], parts = [] } = prompt
  if ((text === undefined || text.trim() === '') && files.length === 0 && parts.length === 0) {
    throw new ReplyError('invalid', 'The prompt is empty; give it text, parts or files.')
  }
  return prompt
}

/** Throws `invalid` for a command without a name. */
export function toSourceCommand({ sessionID: _, title: __, ...input }: CommandInput): SourceCommand {
  const command = input.command.replace(/^\//, '')
  if (command === '') throw new ReplyError('invalid', 'The command has no name; give one, such as "init".')
  return { ...input, command }
}
