import { type Scenario, scenario } from '../scenario.ts'
import { longMarkdown } from '../scenarios/texts.ts'
import {
  callTool,
  httpError,
  type ModelAnswer,
  reportUsage,
  type ScriptStep,
  sayText,
  scenarioToken,
} from '../script.ts'
import { shopSteps } from './shop.ts'

/** A scenario that needs only its prompt: it runs in the demo's sample project. */
export interface DemoScenario extends Scenario {
  /** The prompt to send, as a person would write it. */
  readonly prompt: string
}

const withPrompt = (prompt: string, played: Scenario): DemoScenario => ({ ...played, prompt })

/** Returns a step that reports its tokens, more at each step, as real ones do. One with `attempts` stays as it is. */
const withUsage = (step: ScriptStep, index: number): ScriptStep => {
  const more = reportUsage(18_000 + 2500 * index, 240)
  const isList = (each: ScriptStep): each is ModelAnswer => Array.isArray(each)
  if (isList(step)) return [...step, more]
  if (!('branches' in step)) return step
  const branches = step.branches.map(({ includes, pieces }) => ({ includes, pieces: [...pieces, more] }))
  return { branches, otherwise: [...step.otherwise, more] }
}

/** The scenarios that `startDemo` can play. The first one is the default. */
export const demoScenarios: readonly DemoScenario[] = [
  withPrompt(
    'The total of the cart is wrong when there is a discount. Please find out why and fix it.',
    scenario(
      'demo',
      'Plans, runs tools, keeps a todo list, asks a question, and fixes a bug according to the answer.',
      {
        title: 'Fix the discount',
        steps: shopSteps.map(withUsage),
      },
    ),
  ),
  withPrompt(
    'Please run the tests.',
    scenario('permission', 'Asks for permission before it runs a command.', {
      title: 'Run the tests',
      config: { permission: { bash: 'ask' } },
      steps: [
        [
          sayText('I will run the tests, if you allow it.'),
          callTool('bash', { command: 'node --test', description: 'Run the tests' }),
        ],
        {
          branches: [
            { includes: 'rejected', pieces: [sayText('Then I will leave them alone and have nothing new to report.')] },
          ],
          otherwise: [sayText('The tests ran. One of the two fails: a discount does **not** lower the total.')],
        },
      ],
    }),
  ),
  withPrompt(
    'Please have a sub-agent review the cart.',
    scenario('subagent', 'Delegates a task to a sub-agent, which runs its own tools.', {
      title: 'Review the cart',
      steps: [
        [
          sayText('I will send a sub-agent to review it.'),
          callTool('task', {
            description: 'Review the cart',
            prompt: `Review src/cart.js. ${scenarioToken('subagent/child')}`,
            subagent_type: 'general',
          }),
        ],
        [sayText('The sub-agent found the bug: `discount` is never used.')],
      ],
      more: {
        child: [
          [sayText('I will read it first.'), callTool('read', { filePath: 'src/cart.js' })],
          [callTool('bash', { command: 'grep -n discount src/cart.js; sleep 1', description: 'Find the discount' })],
          [sayText('Nothing uses the parameter `discount`.')],
        ],
      },
    }),
  ),
  withPrompt(
    'Please tell me all about it.',
    scenario('markdown', 'A long answer with every kind of Markdown.', {
      title: 'All about it',
      steps: [[sayText(longMarkdown)]],
    }),
  ),
  withPrompt(
    'Please be patient with the model.',
    scenario('retry', 'The model is overloaded, and the server waits and retries.', {
      title: 'Patience',
      steps: [
        {
          attempts: [
            [httpError(429, 'Rate limit reached', { 'retry-after': '3' })],
            [sayText('Thank you for waiting. The model was overloaded, and the server retried on its own.')],
          ],
        },
      ],
    }),
  ),
]
