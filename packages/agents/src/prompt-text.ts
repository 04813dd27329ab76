import { ReplyError } from '@reply/core'
import type { SourcePrompt } from '@reply/core/source'

/**
 * Returns a prompt's text and text parts, joined by empty lines, for programs that only take text. Throws `unsupported`
 * for files, for parts of other types, and for fields that `refuseLostFields` refuses. `name` is the program's in
 * errors.
 */
export function promptText(
  name: string,
  prompt: SourcePrompt,
  takenFields: readonly (keyof SourcePrompt)[] = [],
): string {
  const { text = '', parts = [], files = [] } = prompt
  const texts = [text]
  for (const part of parts) {
    if (part.type !== 'text') throw unsupportedPrompt(name, `a part of the type ${part.type}`, 'Send text.')
    texts.push(part.text)
  }
  if (files.length > 0) throw unsupportedPrompt(name, 'files', 'Name them in the text.')
  refuseLostFields(name, prompt, takenFields)
  return texts.filter((each) => each !== '').join('\n\n')
}

/**
 * Throws `unsupported` if the prompt has an agent, model, variant, system prompt, tools or format that the program
 * would ignore: one that is not in `takenFields`.
 */
export function refuseLostFields(
  name: string,
  prompt: SourcePrompt,
  takenFields: readonly (keyof SourcePrompt)[] = [],
) {
  const others = ['agent', 'model', 'variant', 'system', 'tools', 'format'] as const
  const lost = others.find((field) => prompt[field] !== undefined && !takenFields.includes(field))
  if (lost !== undefined)
    throw unsupportedPrompt(name, `\`${lost}\` for a prompt`, 'Leave it out, or set it in the options.')
}

/** Returns the error `unsupported` for a prompt that the program can't take. `cure` is a sentence with the fix. */
export function unsupportedPrompt(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not take ${what}. ${cure}`)
}
