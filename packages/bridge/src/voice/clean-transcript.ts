import { stripVTControlCharacters } from 'node:util'

/** Line breaks that are not LF. */
const lineBreaks = /\r\n?|[\u0085\u2028\u2029]/g

/**
 * Characters that show nothing or reorder the text around them. A transcriber has no reason to print them, and the quotation in
 * the chat must show everything that the agent gets. The joiners stay, because Persian, Hindi and emoji are written with them.
 */
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

/**
 * What Whisper's models print for silence. https://github.com/ggml-org/whisper.cpp/issues/2420 and
 * https://github.com/karansinghgit/speaktype/issues/42
 */
const silence = /^\[(?:BLANK_AUDIO|SILENCE)\]$/i

/**
 * Returns what a transcriber printed as text: without control sequences and hidden characters, without the white space around
 * each line, and without empty lines and lines that only say that there was silence. A slash at the start is removed, because a
 * spoken text never is a command. May be empty.
 */
export function cleanTranscript(printed: string): string {
  const lines = stripVTControlCharacters(printed.replace(lineBreaks, '\n')).replace(hidden, '').split('\n')
  const said = lines.map((line) => line.trim()).filter((line) => line !== '' && !silence.test(line))
  return said.join('\n').replace(/^[\s/\u200c\u200d]+/, '')
}
