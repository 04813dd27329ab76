import { ReplyError } from '@reply/core'
import type { SourcePrompt } from '@reply/core/source'

/** The text of a prompt, for programs that only take text. Throws `unsupported` for fields that would be lost. */
export function promptText(name: string, prompt: SourcePrompt, takes: readonly (keyof SourcePrompt)[] = []): string {
  const { text = '', parts = [], files = [] } = prompt
  const texts = [text]
  for (const part of parts) {
    if (part.type !== 'text') throw unsupportedPrompt(name, `a part of the type ${part.type}`, 'Send text.')
    texts.push(part.text)
  }
  if (files.length > 0) throw unsupportedPrompt(name, 'files', 'Name them in the text.')
  refuseLostFields(name, prompt, takes)
  return texts.filter((each) => each !== '').join('\n\n')
}

/** Throws `unsupported` for the first field besides text, parts and files that is not one of `takes`. */
export function refuseLostFields(name: string, prompt: SourcePrompt, takes: readonly (keyof SourcePrompt)[] = []) {
  const others = ['agent', 'model', 'variant', 'system', 'tools', 'format'] as const
  const lost = others.find((field) => prompt[field] !== undefined && !takes.includes(field))
  if (lost !== undefined)
    throw unsupportedPrompt(name, `\`${lost}\` for a prompt`, 'Leave it out, or set it in the options.')
}

/** The error for a prompt that the program can't take. */
export function unsupportedPrompt(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not take ${what}. ${cure}`)
}
