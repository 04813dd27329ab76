import { scenario } from '../scenario.ts'
import { type AnswerPiece, callTool, sayText } from '../script.ts'

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

const bash = (command: string): AnswerPiece => callTool('bash', { command, description: `Run ${command}` })
const asking = { permission: { bash: 'ask' } } as const

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
  scenario('permission-always-parallel', 'Two commands ask at once; always for the one also releases the other.', {
    config: asking,
    steps: [[bash('echo one'), bash('echo two')], [sayText('Both ran.')]],
  }),
  scenario('permission-rejected', 'A person rejects the permission, which ends the turn.', {
    config: asking,
    steps: [[sayText('I will run it.'), bash('echo forbidden')], [sayText('Then not.')]],
  }),
  scenario('permission-rejected-message', 'A person rejects the permission with a reason; the agent continues.', {
    config: asking,
    steps: [[sayText('I will run it.'), bash('echo forbidden')], [sayText('I see, I will not do that again.')]],
  }),
  scenario('permission-rejected-parallel', 'Two commands ask at once; rejecting the one also rejects the other.', {
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
