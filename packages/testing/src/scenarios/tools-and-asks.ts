import { scenario } from '../scenario.ts'
import { callTool, httpError, reportUsage, sayText, scenarioToken } from '../script.ts'
import { asking, bash, picture, pictureServer } from './pieces.ts'

/** Turns with tools, without a person. */
export const tools = [
  scenario('parallel-tools', 'Three tools in one step, one of which fails.', {
    files: { 'notes.txt': 'one\ntwo\n' },
    steps: [
      [
        sayText('All at once.'),
        callTool('bash', { command: 'sleep 0.3; echo slow', description: 'Be slow' }),
        callTool('read', { filePath: 'missing.txt' }),
        callTool('read', { filePath: 'notes.txt' }),
      ],
      [sayText('Two came through, one did not.')],
    ],
  }),
  scenario('failing-read', 'A tool fails and the model continues.', {
    steps: [[callTool('read', { filePath: 'missing.txt' })], [sayText('There is no such file.')]],
  }),
  scenario('failing-command', 'A command ends with an exit code, which the server does not treat as a failure.', {
    steps: [
      [callTool('bash', { command: 'echo oops >&2; exit 3', description: 'Fail' })],
      [sayText('It ended with three.')],
    ],
  }),
  scenario('unknown-tool', 'The model calls a tool that does not exist.', {
    steps: [[callTool('frobnicate', { level: 11 })], [sayText('There is no such tool.')]],
  }),
  scenario('bad-arguments', 'The model calls a tool with arguments of the wrong shape.', {
    steps: [[callTool('read', { path: 5 })], [sayText('The arguments were wrong.')]],
  }),
  scenario('chunked-output', 'A command whose output comes bit by bit.', {
    steps: [
      [
        callTool('bash', {
          command: 'for i in 1 2 3 4 5 6; do echo "line $i"; sleep 0.15; done',
          description: 'Count slowly',
        }),
      ],
      [sayText('It counted to six.')],
    ],
  }),
  scenario('large-output', 'A command whose output the server cuts.', {
    steps: [
      [callTool('bash', { command: 'seq -f "line %.0f of a long list" 1 4000', description: 'Say much' })],
      [sayText('That was a lot.')],
    ],
  }),
  scenario('write-edit', 'A file is written and edited, and the server reports the patch.', {
    files: { 'list.txt': 'a\nb\nc\n' },
    steps: [
      [sayText('I write and edit.'), callTool('write', { filePath: 'new.txt', content: 'new\n' })],
      [callTool('read', { filePath: 'list.txt' })],
      [callTool('edit', { filePath: 'list.txt', oldString: 'b', newString: 'B' })],
      [sayText('Both files are as you wished.')],
    ],
  }),
  scenario('read-picture', 'A tool reads a picture, which is attached to its result.', {
    steps: [
      [bash(`echo ${picture} | base64 -d > dot.png`)],
      [sayText('I look at it.'), callTool('read', { filePath: 'dot.png' })],
      [sayText('It is one dot.')],
    ],
  }),
  scenario('mcp-files', 'A tool of an MCP server returns a text, a picture, files and a link.', {
    files: { 'server.mjs': pictureServer },
    config: { mcp: { dots: ['node', 'server.mjs'] } },
    steps: [[sayText('I draw it.'), callTool('dots_draw', {})], [sayText('It is drawn.')]],
  }),
]

/** An option of a question. */
const option = (label: string, description: string) => ({ label, description })
const colours = {
  question: 'Which colour shall it be?',
  header: 'Colour',
  options: [option('Red', 'Like a tomato'), option('Blue', 'Like the sky')],
}
const toppings = {
  question: 'What goes on top?',
  header: 'Toppings',
  multiple: true,
  options: [option('Cheese', 'Much of it'), option('Onions', 'Raw'), option('Olives', 'Black ones')],
}
const name = { question: 'What is its name?', header: 'Name', options: [option('None', 'It stays nameless')] }

/** Turns that wait for a person. */
export const asks = [
  scenario('question', 'The agent asks one question, a person answers, the agent continues.', {
    steps: [[sayText('One thing first.'), callTool('question', { questions: [colours] })], [sayText('Blue it is.')]],
  }),
  scenario('questions-multi', 'Three questions at once: one label, several labels, and free text.', {
    steps: [
      [sayText('I need to know more.'), callTool('question', { questions: [colours, toppings, name] })],
      [sayText('A red one with cheese and olives, called Rex.')],
    ],
  }),
  scenario('question-rejected', 'A person rejects the question, which ends the turn.', {
    steps: [[sayText('One thing first.'), callTool('question', { questions: [colours] })], [sayText('Then I choose.')]],
  }),
  scenario('permission-once', 'A command asks for permission, gets it once, and runs.', {
    config: asking,
    steps: [[sayText('I will run it.'), bash('echo allowed')], [sayText('It ran.')]],
  }),
  scenario('permission-always', 'Permission is granted for always: the next such command does not ask.', {
    config: asking,
    steps: [[bash('echo first')], [bash('echo second')], [sayText('Both ran.')]],
  }),
  scenario('permission-always-parallel', 'Two commands ask at once, and "always" for one also allows the other.', {
    config: asking,
    steps: [[bash('echo one'), bash('echo two')], [sayText('Both ran.')]],
  }),
  scenario('permission-rejected', 'A person rejects the permission, which ends the turn.', {
    config: asking,
    steps: [[sayText('I will run it.'), bash('echo forbidden')], [sayText('Then not.')]],
  }),
  scenario('permission-rejected-message', 'A person rejects the permission with a reason, and the agent continues.', {
    config: asking,
    steps: [[sayText('I will run it.'), bash('echo forbidden')], [sayText('I see, I will not do that again.')]],
  }),
  scenario('permission-rejected-parallel', 'Two commands ask at once, and rejecting one also rejects the other.', {
    config: asking,
    steps: [[bash('echo one'), bash('echo two')], [sayText('Then not.')]],
  }),
  scenario('permission-twice', 'One tool call raises two permissions, one after the other.', {
    config: { permission: { bash: 'ask', external_directory: 'ask' } },
    steps: [
      [callTool('bash', { command: 'echo outside', workdir: '/usr', description: 'Look outside' })],
      [sayText('Twice asked, once done.')],
    ],
  }),
  scenario('permission-edit', 'An edit asks for permission and shows its diff.', {
    config: { permission: { edit: 'ask' } },
    files: { 'list.txt': 'a\nb\nc\n' },
    steps: [
      [callTool('read', { filePath: 'list.txt' })],
      [callTool('edit', { filePath: 'list.txt', oldString: 'b', newString: 'B' })],
      [sayText('It is edited.')],
    ],
  }),
  scenario('permission-denied', 'A command that the config denies without asking.', {
    config: { permission: { bash: { '*': 'allow', 'curl *': 'deny' } } },
    steps: [[bash('curl http://example.invalid')], [sayText('I may not do that.')]],
  }),
]

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
  scenario('compaction-overflow', 'The provider refuses because the context is too long, and the server compacts.', {
    steps: [
      [sayText('I begin with a look.'), callTool('bash', { command: 'echo begun', description: 'Begin' })],
      [httpError(400, 'prompt is too long: 250000 tokens > 200000 maximum context length, context_length_exceeded')],
    ],
    summary: [sayText(`It was too long, now it is short. ${scenarioToken('compaction-overflow/after')}`)],
    more: { after: [[sayText('After the overflow: all is done.')]] },
  }),
]
