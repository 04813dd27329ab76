import { scenario } from '../scenario.ts'
import { failure, scenarioToken, text, tool, usage } from '../script.ts'

const full = usage(195_000, 500)

/** Turns in which the context is compacted. */
export const compaction = [
  scenario('compaction-auto', 'The context is full after a step: the server compacts it and continues on its own.', {
    steps: [[text('I begin with a look.'), tool('bash', { command: 'echo begun', description: 'Begin' }), full]],
    summary: [text(`The work was begun, and nothing is left but to say so. ${scenarioToken('compaction-auto/after')}`)],
    more: { after: [[text('After the compaction: all is done.')]] },
  }),
  scenario('compaction-manual', 'A person asks for a compaction after a turn, and sends another prompt.', {
    steps: [[text('The first answer.')]],
    summary: [text('A short summary of a short session.')],
    more: { second: [[text('The second answer, after the compaction.')]] },
  }),
  scenario('compaction-overflow', 'The provider refuses because the context is too long; the server compacts.', {
    steps: [
      [text('I begin with a look.'), tool('bash', { command: 'echo begun', description: 'Begin' })],
      [failure(400, 'prompt is too long: 250000 tokens > 200000 maximum context length, context_length_exceeded')],
    ],
    summary: [text(`It was too long, now it is short. ${scenarioToken('compaction-overflow/after')}`)],
    more: { after: [[text('After the overflow: all is done.')]] },
  }),
]
