import { scenario } from '../scenario.ts'
import { callTool, httpError, reportUsage, sayText, scenarioToken } from '../script.ts'

const full = reportUsage(195_000, 500)

/** Turns in which the context is compacted. */
export const compaction = [
  scenario('compaction-auto', 'The context is full after a step: the server compacts it and continues on its own.', {
    steps: [[sayText('I begin with a look.'), callTool('bash', { command: 'echo begun', description: 'Begin' }), full]],
    summary: [
      sayText(`The work was begun, and nothing is left but to say so. ${scenarioToken('compaction-auto/after')}`),
    ],
    more: { after: [[sayText('After the compaction: all is done.')]] },
  }),
  scenario('compaction-manual', 'A person asks for a compaction after a turn, and sends another prompt.', {
    steps: [[sayText('The first answer.')]],
    summary: [sayText('A short summary of a short session.')],
    more: { second: [[sayText('The second answer, after the compaction.')]] },
  }),
  scenario('compaction-overflow', 'The provider refuses because the context is too long; the server compacts.', {
    steps: [
      [sayText('I begin with a look.'), callTool('bash', { command: 'echo begun', description: 'Begin' })],
      [httpError(400, 'prompt is too long: 250000 tokens > 200000 maximum context length, context_length_exceeded')],
    ],
    summary: [sayText(`It was too long, now it is short. ${scenarioToken('compaction-overflow/after')}`)],
    more: { after: [[sayText('After the overflow: all is done.')]] },
  }),
]
