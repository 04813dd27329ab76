import { failure, hold, reasoning, type Scripts, text, tool } from '@reply/testing'

const make = { command: 'touch made.txt && echo made', description: 'Makes a file' }

const late = [text('This answer will never come to its end, because'), hold('middle'), text(' it is late.')]

const todo = (first: string, second: string) =>
  tool('TodoWrite', {
    todos: [
      { content: 'Read', status: first, activeForm: 'Reading' },
      { content: 'Write', status: second, activeForm: 'Writing' },
    ],
  })

const question = {
  question: 'Which color?',
  header: 'Color',
  multiSelect: false,
  options: [
    { label: 'Red', description: 'Warm' },
    { label: 'Blue', description: 'Cold' },
  ],
}

const delegate = { description: 'Look around', prompt: '[scenario:child] Go', subagent_type: 'general-purpose' }

/** What the model says to claude-agent-acp, in the words of Claude Code's tools. */
export const claudeScripts: Scripts = {
  text: { steps: [[reasoning('Let me think.'), text('Hello from Claude.')]] },
  tool: { steps: [[text('I look.'), tool('Bash', { command: 'ls', description: 'Lists' })], [text('I looked.')]] },
  permission: { steps: [[text('I will run it.'), tool('Bash', make)], [text('That was it.')]] },
  question: { steps: [[tool('AskUserQuestion', { questions: [question] })], [text('Thanks.')]] },
  todos: { steps: [[todo('in_progress', 'pending')], [todo('completed', 'in_progress')], [text('Planned.')]] },
  subagent: { steps: [[tool('Agent', delegate)], [text('The agent is done.')]] },
  child: { steps: [[text('The child works.'), tool('Bash', make)], [text('The child is done.')]] },
  abort: { steps: [late] },
  error: { steps: [[failure(401, 'The key is wrong.')]] },
}

const delegateInCodex = tool('multi_agent_v1.spawn_agent', { message: '[scenario:child] Go' })

const exec = (cmd: string) => tool('exec_command', { cmd })

const escalated = tool('exec_command', {
  cmd: make.command,
  sandbox_permissions: 'require_escalated',
  justification: 'May I make a file?',
})

const plan = (first: string, second: string) =>
  tool('update_plan', {
    plan: [
      { step: 'Read', status: first },
      { step: 'Write', status: second },
    ],
  })

const { multiSelect: _several, ...choice } = question

/** What the model says to codex-acp, in the words of Codex's tools. */
export const codexScripts: Scripts = {
  text: { steps: [[reasoning('Let me think.'), text('Hello from Codex.')]] },
  tool: { steps: [[text('I look.'), exec('ls')], [text('I looked.')]] },
  permission: { steps: [[text('I will run it.'), escalated], [text('That was it.')]] },
  question: { steps: [[tool('request_user_input', { questions: [{ id: 'color', ...choice }] })], [text('Thanks.')]] },
  subagent: { steps: [[delegateInCodex], [exec('sleep 2')], [text('The agent is done.')]] },
  child: { steps: [[text('The child works.'), exec('ls')], [text('The child is done.')]] },
  todos: { steps: [[plan('in_progress', 'pending')], [plan('completed', 'in_progress')], [text('Planned.')]] },
  abort: { steps: [late] },
  error: { steps: [[failure(401, 'The key is wrong.')]] },
}
