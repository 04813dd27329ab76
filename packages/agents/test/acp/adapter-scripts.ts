import { callTool, holdAnswer, httpError, type Scripts, sayText, think } from '@reply/testing'

const make = { command: 'touch made.txt && echo made', description: 'Makes a file' }

const late = [sayText('This answer will never come to its end, because'), holdAnswer('middle'), sayText(' it is late.')]

const todo = (first: string, second: string) =>
  callTool('TodoWrite', {
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
  text: { steps: [[think('Let me think.'), sayText('Hello from Claude.')]] },
  tool: {
    steps: [[sayText('I look.'), callTool('Bash', { command: 'ls', description: 'Lists' })], [sayText('I looked.')]],
  },
  permission: { steps: [[sayText('I will run it.'), callTool('Bash', make)], [sayText('That was it.')]] },
  question: { steps: [[callTool('AskUserQuestion', { questions: [question] })], [sayText('Thanks.')]] },
  todos: { steps: [[todo('in_progress', 'pending')], [todo('completed', 'in_progress')], [sayText('Planned.')]] },
  subagent: { steps: [[callTool('Agent', delegate)], [sayText('The agent is done.')]] },
  child: { steps: [[sayText('The child works.'), callTool('Bash', make)], [sayText('The child is done.')]] },
  abort: { steps: [late] },
  error: { steps: [[httpError(401, 'The key is wrong.')]] },
}

const delegateInCodex = callTool('multi_agent_v1.spawn_agent', { message: '[scenario:child] Go' })

const exec = (cmd: string) => callTool('exec_command', { cmd })

const escalated = callTool('exec_command', {
  cmd: make.command,
  sandbox_permissions: 'require_escalated',
  justification: 'May I make a file?',
})

const plan = (first: string, second: string) =>
  callTool('update_plan', {
    plan: [
      { step: 'Read', status: first },
      { step: 'Write', status: second },
    ],
  })

const { multiSelect: _several, ...choice } = question

/** What the model says to codex-acp, in the words of Codex's tools. */
export const codexScripts: Scripts = {
  text: { steps: [[think('Let me think.'), sayText('Hello from Codex.')]] },
  tool: { steps: [[sayText('I look.'), exec('ls')], [sayText('I looked.')]] },
  permission: { steps: [[sayText('I will run it.'), escalated], [sayText('That was it.')]] },
  question: {
    steps: [[callTool('request_user_input', { questions: [{ id: 'color', ...choice }] })], [sayText('Thanks.')]],
  },
  subagent: { steps: [[delegateInCodex], [exec('sleep 2')], [sayText('The agent is done.')]] },
  child: { steps: [[sayText('The child works.'), exec('ls')], [sayText('The child is done.')]] },
  todos: { steps: [[plan('in_progress', 'pending')], [plan('completed', 'in_progress')], [sayText('Planned.')]] },
  abort: { steps: [late] },
  error: { steps: [[httpError(401, 'The key is wrong.')]] },
}
