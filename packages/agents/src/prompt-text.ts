import { ReplyError } from '@reply/core'
import type { SourcePrompt } from '@reply/core/source'

/** The text of a prompt, for programs that only take text. Throws `unsupported` for fields that would be lost. */
export function promptText(name: string, prompt: SourcePrompt, takes: readonly (keyof SourcePrompt)[] = []): string {
  const { text = '', parts = [], files = [] } = prompt
  const texts = [text]
  for (const part of parts) {
    if (part.type !== 'text') throw unsupported(name, `a part of the type ${part.type}`, 'Send text.')
    texts.push(part.text)
  }
  if (files.length > 0) throw unsupported(name, 'files', 'Name them in the text.')
  const others = ['agent', 'model', 'variant', 'system', 'tools', 'format'] as const
  const lost = others.find((field) => prompt[field] !== undefined && !takes.includes(field))
  if (lost !== undefined) throw unsupported(name, `\`${lost}\` for a prompt`, 'Leave it out, or set it in the options.')
  return texts.filter((each) => each !== '').join('\n\n')
}

function unsupported(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not take ${what}. ${cure}`)
}
