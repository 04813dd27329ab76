import { ReplyError } from '../../error.ts'
import type { CommandInput, PromptDelivery, PromptInput } from '../../source/input.ts'
import type { Capabilities, SourceCommand, SourcePrompt } from '../../source/port.ts'

/**
 * Returns the prompt without the fields of its session. Throws `invalid` for an empty prompt, and for a guarded one
 * whose parts or tools would bypass the guard.
 */
export function toSourcePrompt({ sessionID: _, title: __, guarded, ...prompt }: PromptInput): SourcePrompt {
  const { text, files = [], parts = [] } = prompt
  if ((text === undefined || text.trim() === '') && files.length === 0 && parts.length === 0) {
    throw new ReplyError('invalid', 'The prompt is empty. Pass text, parts or files.')
  }
  if (guarded) requirePlain(prompt)
  return prompt
}

/**
 * Returns the command without its slash and the fields of its session. Throws `invalid` for a command without a name.
 */
export function toSourceCommand({ sessionID: _, title: __, guarded: ___, ...input }: CommandInput): SourceCommand {
  const command = input.command.replace(/^\//, '')
  if (command === '') throw new ReplyError('invalid', 'The command has no name. Pass one, for example "init".')
  return { ...input, command }
}

/**
 * Throws `invalid` if the prompt names a sub-agent or sets `tools`, because both bypass the guard: OpenCode starts the
 * sub-agent without asking, and `tools` replace the session's rules (measured on 1.1.65 to 1.18.34).
 */
function requirePlain({ parts = [], tools }: SourcePrompt): void {
  const part = parts.find(({ type }) => type === 'agent' || type === 'subtask')?.type
  const what = part === undefined ? tools && 'tools' : `part of type "${part}"`
  if (what !== undefined) throw new ReplyError('invalid', `A guarded prompt takes no ${what}. Leave it out.`)
}

/**
 * Throws `unsupported` for `queue` if the server has no queue, and for `steer` if it runs one prompt at a time. Accepts
 * any other delivery.
 */
export function requireDelivery(delivery: PromptDelivery | undefined, can: Capabilities): void {
  if (delivery === 'queue' && !can.queuesPrompts)
    throw new ReplyError('unsupported', 'This server has no prompt queue. Leave out delivery, or wait for the reply.')
  if (delivery === 'steer' && !can.takesPromptsWhileBusy)
    throw new ReplyError('unsupported', 'This server runs one prompt at a time. Leave out delivery: "steer".')
}
