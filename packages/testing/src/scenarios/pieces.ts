import { type AnswerPiece, callTool, scenarioToken } from '../script.ts'

/** A call that runs a command. */
export const bash = (command: string): AnswerPiece => callTool('bash', { command, description: `Run ${command}` })

/** A call that starts a sub-agent, which plays the script. `more` is added to its input. */
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
