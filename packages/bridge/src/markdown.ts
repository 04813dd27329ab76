import { literal } from '@reply/sink/internal'

/** Text as Markdown that shows it line by line as it is: what people and servers wrote must not become markup. */
export function plain(text: string): string {
  return text.split('\n').map(literal).join('\n')
}
