import { ReplyError } from '../../error.ts'
import type { CommandInput, Delivery, PromptInput } from '../../source/input.ts'
import type { Capabilities, SourceCommand, SourcePrompt } from '../../source/port.ts'

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

/** Throws `unsupported` if the server can't deliver a prompt in this way. */
export function requireDelivery(delivery: Delivery | undefined, can: Capabilities): void {
  if (delivery === 'queue' && !can.queuesPrompts)
    throw new ReplyError('unsupported', 'This server queues no prompts; leave out delivery, or wait for the reply.')
  if (delivery === 'steer' && !can.takesPromptsWhileBusy)
    throw new ReplyError('unsupported', 'This server runs one prompt at a time; leave out delivery: "steer".')
}
