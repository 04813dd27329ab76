import { type Span, span } from './styled-line.ts'

/** Marks for results. */
export const SYMBOLS = {
  done: span('✓ ', 'green'),
  failed: span('✗ ', 'red'),
  denied: span('⊘ ', 'yellow'),
  interrupted: span('■ ', 'yellow'),
  withdrawn: span('– ', 'dim'),
} as const

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const SPINNER_FRAME_MS = 80

/** Returns the mark of something that is running, which changes with the time. */
export function spinner(now: number): Span {
  return span(`${FRAMES[Math.floor(now / SPINNER_FRAME_MS) % FRAMES.length] ?? '⠋'} `, 'cyan')
}
