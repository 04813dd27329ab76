import { type AnswerPiece, callTool, scenarioToken } from '../script.ts'

/** A call that starts a sub-agent, which plays the script. */
export const task = (description: string, script: string, more: object = {}): AnswerPiece =>
  callTool('task', { description, prompt: `Do your part. ${scenarioToken(script)}`, subagent_type: 'general', ...more })

/** Commands ask for a permission. */
export const asking = { permission: { bash: 'ask' } } as const

/** A question with two options. */
export const colour = {
  question: 'Which colour?',
  header: 'Colour',
  options: [
    { label: 'Red', description: 'Warm' },
    { label: 'Blue', description: 'Cold' },
  ],
}
