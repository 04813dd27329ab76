import { type Span, span } from './line.ts'

/** How something ended. */
export const MARKS = {
  done: span('✓ ', 'green'),
  failed: span('✗ ', 'red'),
  denied: span('⊘ ', 'yellow'),
  interrupted: span('■ ', 'yellow'),
  withdrawn: span('– ', 'dim'),
} as const

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80

/** It goes on. */
export function spinner(now: number): Span {
  return span(`${FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? '⠋'} `, 'cyan')
}
