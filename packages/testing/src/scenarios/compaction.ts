import { scenario } from '../scenario.ts'
import { scenarioToken, text, tool, usage } from '../script.ts'

export const compaction = [
  scenario('compaction-auto', 'The context is full after a step: the server compacts it and goes on by itself.', {
    steps: [
      [
        text('I begin with a look.'),
        tool('bash', { command: 'echo begun', description: 'Begin' }),
        usage(195_000, 500),
      ],
    ],
    summary: [text(`The work was begun, and nothing is left but to say so. ${scenarioToken('compaction-auto/after')}`)],
    more: { after: [[text('After the compaction: all is done.')]] },
  }),
]
