import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Day, startDay } from './day.ts'

const colours = [
  { label: 'Red', description: 'Warm' },
  { label: 'Blue', description: 'Cool' },
]

/** Each answer has words that stand nowhere else. */
const answer = (name: string, more = ''): string => `The answer ${name} is here.${more}`
const plain = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o']
const long = Array.from({ length: 300 }, (_, index) => `Line ${index} of a long answer, which goes on.`).join('\n\n')

function asking(name: string): Scripts[string] {
  const questions = [{ header: 'Colour', question: 'Which colour?', options: colours }]
  return { steps: [[sayText('Let me ask.'), callTool('question', { questions })], [sayText(answer(name))]] }
}

const scripts: Scripts = {
  ...Object.fromEntries(plain.map((name) => [name, { steps: [[sayText(answer(name))]] }])),
  long: { steps: [[sayText(`${long}\n\n${answer('long')}`)]] },
  question: asking('question'),
  asked: asking('asked'),
  touch: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [sayText(answer('touch'))],
    ],
  },
  slow: { steps: [[sayText('Slow. '), holdAnswer('slow'), sayText(answer('slow'))]] },
  slower: { steps: [[sayText('Slower. '), holdAnswer('slower'), sayText(answer('slower'))]] },
  forever: { steps: [[sayText('On and on. '), holdAnswer('forever'), sayText('never.')]] },
  go: { steps: [[sayText('Steer me. '), holdAnswer('steered'), sayText('Then.')]] },
  steered: { steps: [[sayText(answer('steered'))]] },
}

const ann = { from: { id: 1, name: 'Ann' } }
const bob = { from: { id: 2, name: 'Bob' } }
const group = -100_777

let day: Day

beforeAll(async () => {
  day = await startDay(scripts)
})
afterAll(async () => await day.close())

test('a day of forty interactions: each screen shows what its server says, once, and nothing of others', async () => {
  const { telegram, slack, told, slackTold, model } = day
  // The morning: both platforms at once.
  telegram.say(1, 'Hello [scenario:a]')
  telegram.say(2, 'Hello [scenario:b]')
  const dm = slack.say('D1', 'Hello [scenario:c]', { from: { id: 'U1', name: 'Ann' } })
  await Promise.all([told(1, answer('a')), told(2, answer('b')), slackTold('D1', answer('c'), dm)])
  // A question, answered in words, on each.
  telegram.say(1, 'Ask me [scenario:question]')
  await told(1, 'Which colour?')
  telegram.say(1, '2')
  await told(1, answer('question'))
  slack.say('D1', 'Ask me [scenario:asked]', { threadTs: dm, from: { id: 'U1', name: 'Ann' } })
  await slackTold('D1', 'Which colour?', dm)
  slack.say('D1', 'Blue', { threadTs: dm, from: { id: 'U1', name: 'Ann' } })
  await slackTold('D1', answer('asked'), dm)
  // A file.
  const file = { name: 'notes.txt', bytes: new TextEncoder().encode('The notes.') }
  telegram.say(2, 'Read it [scenario:o]', { file })
  await told(2, answer('o'))
  telegram.say(2, '/logs')
  await told(2, `[stdout] ${answer('o')}`)
  telegram.say(2, '/sessions')
  await told(2, 'Sessions')
  telegram.say(2, '/verbose on')
  await told(2, 'with their output')
  telegram.say(2, '/verbose off')
  await told(2, 'briefly')
  // A permission that Bob asks for: he can't allow it. Ann allows it in the group.
  telegram.say(group, '@fake_bot touch [scenario:touch]', bob)
  const asked = await told(group, 'touch asked-for.txt')
  const refused = await telegram.press(group, asked.messageId, 'Allow once', bob).settled
  expect(refused.text).toContain('it requires the right `approve`')
  telegram.press(group, asked.messageId, 'Allow once', ann)
  await told(group, answer('touch'))
  // A queue: shown, edited, dropped.
  telegram.say(1, 'Slowly [scenario:slow]')
  await model.held('slow')
  telegram.say(1, 'First [scenario:d]')
  telegram.say(1, 'Second [scenario:e]')
  telegram.say(1, 'Third [scenario:f]')
  await told(1, 'Queued, number 3.')
  telegram.say(1, '/queue drop 1')
  await told(1, 'Removed number 1: First')
  telegram.say(1, '/queue edit 1 Changed [scenario:g]')
  await told(1, 'Changed number 1.')
  telegram.say(1, '/status')
  await told(1, '⏳ Running')
  model.release('slow')
  await told(1, answer('slow'))
  await told(1, answer('g'))
  await told(1, answer('f'))
  // Steering.
  telegram.say(2, 'Go [scenario:go]')
  await model.held('steered')
  telegram.say(2, '/steer Use the other branch [scenario:steered]')
  await told(2, 'Added to the')
  model.release('steered')
  await told(2, answer('steered'))
  // Stopping.
  telegram.say(2, 'On [scenario:forever]')
  await model.held('forever')
  telegram.say(2, '/cancel')
  await told(2, 'Stopped.')
  // Slack: a thread of a channel.
  const ts = slack.say('C1', 'hello [scenario:h]', { mention: true, from: { id: 'U3', name: 'Cyd' } })
  await slackTold('C1', answer('h'), ts)
  slack.say('C1', 'and again [scenario:i]', { threadTs: ts, from: { id: 'U3', name: 'Cyd' } })
  await slackTold('C1', answer('i'), ts)
  // A restart in the middle of a run, with a prompt that waits.
  telegram.say(1, 'Slower [scenario:slower]')
  await model.held('slower')
  telegram.say(1, 'After that [scenario:j]')
  await told(1, 'Queued, number 1.')
  await day.restart()
  model.release('slower')
  await told(1, answer('slower'))
  await told(1, answer('j'))
  slack.say('C1', 'still there? [scenario:k]', { threadTs: ts, from: { id: 'U3', name: 'Cyd' } })
  await slackTold('C1', answer('k'), ts)
  // A restart of a server.
  await day.work.restart()
  slack.say('D1', 'Hello again [scenario:l]', { threadTs: dm, from: { id: 'U1', name: 'Ann' } })
  await slackTold('D1', answer('l'), dm)
  // Sessions.
  telegram.say(1, '/new Another')
  await told(1, 'Another')
  telegram.say(1, 'In the new one [scenario:m]')
  await told(1, answer('m'))
  const old = telegram.screen(1).find(({ text: said }) => said.includes(answer('a')))
  telegram.say(1, 'And in the old one [scenario:n]', { replyTo: old?.messageId ?? 0 })
  await told(1, answer('n'))
  // A long answer.
  telegram.say(2, 'All [scenario:long]')
  await told(2, answer('long'))
  telegram.say(1, '/list')
  await told(1, 'Recent executions')
  telegram.say(2, '/queue')
  await told(2, 'Nothing is waiting.')
  telegram.say(2, '/current')
  await told(2, 'Session')
  telegram.say(2, '/help')
  await told(2, '/status')

  const screens = [
    [1, 2, group].flatMap((chat) => telegram.screen(chat).map(({ text: said }) => said)).join('\n'),
    [slack.screen('D1', dm), slack.screen('C1', ts)]
      .flat()
      .map(({ text: said }) => said)
      .join('\n'),
  ]
  // What /logs repeats does not count.
  const [onTelegram = '', onSlack = ''] = screens.map((screen) => screen.replace(/^\[stdout\] .*$/gm, ''))
  const count = (screen: string, words: string): number => screen.split(words).length - 1
  for (const line of long.split('\n\n')) expect([line, count(onTelegram, line)]).toEqual([line, 1])
  const atHome = (await day.answers(day.home)).flatMap((said) => /The answer \w+ is here\./.exec(said) ?? [])
  const atWork = (await day.answers(day.work)).flatMap((said) => /The answer \w+ is here\./.exec(said) ?? [])
  expect(atHome.map((words) => [words, count(onTelegram, words), count(onSlack, words)])).toEqual(
    atHome.map((words) => [words, 1, 0]),
  )
  expect(atWork.map((words) => [words, count(onTelegram, words), count(onSlack, words)])).toEqual(
    atWork.map((words) => [words, 0, 1]),
  )
  expect([atHome.length, atWork.length]).toEqual([14, 6])

  // All that the agents wrote, line by line, is on its own platform; what else the bot says is the bridge's.
  const [home, work] = await Promise.all([day.answers(day.home), day.answers(day.work)])
  const onHome = compare(
    [1, 2, group].flatMap((chat) => telegram.screen(chat)),
    home,
  )
  const onWork = compare([slack.screen('D1', dm), slack.screen('C1', ts)].flat(), work)
  expect([onHome.missing, onWork.missing]).toEqual([[], []])
  // Telegram's screen has the text, Slack's the Markdown.
  const more = [...onHome.more, ...onWork.more].map((line) => line.replace(/[*`\\]/g, ''))
  expect(more.filter((line) => line !== '' && !ownWords.some((words) => words.test(line)))).toEqual([])
})

/** What the bridge says itself in that day: its commands, its asks, and the queue. */
const ownWords = [
  /^Queued, number \d\. \/queue shows what waits\.$/,
  /^(Removed|Changed) number 1(\.|: First)/,
  /^Added to the running turn\.$/,
  /^(⏹️ )?Stopped\.$|^Aborted\.$/,
  /^The next message starts the session “Another”\.$/,
  /^Tool calls are shown (with their output|briefly)\.$/,
  /^Nothing is waiting\.$/,
  // Commands that list.
  /^Scripted session$|^Session: ses_\w+$|^Server: home$|^(Agent|Model): the default$/,
  /^⏳ Running \(\d+s\) · \w{6}$|^Last output: Slow\.$/,
  /^Recent executions \(this chat\):$|^• \w{6} ✅ Complete [\d:]+Z$/,
  /^Sessions:$|^1\. Scripted session ✓$|^\[stdout\] The answer o is here\.$/,
  /^Write what the agent should do\.|^[-•] \/\w+/,
  // The question, and the permission.
  /^❓ Colour$|^Which colour\?$|^✅ Blue · (Person|Ann)$/,
  /^❓ Allow this\? bash$|^bash$|^touch asked-for\.txt$/,
  /^Also$|^Description: Touch$|^"Always" also allows calls that fit touch , for everyone who uses this server, until it is revoked\.$|^✅ Allow once · Ann$/,
]

const linesOf = (texts: readonly string[]): readonly string[] =>
  texts
    .flatMap((one) => one.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Which lines of an agent a bot does not show, and which it shows besides, each counted as often as it is there. */
function compare(
  screen: readonly { readonly from: string; readonly text: string }[],
  answers: readonly string[],
): { readonly missing: readonly string[]; readonly more: readonly string[] } {
  const more = [...linesOf(screen.flatMap(({ from, text: said }) => (from === 'bot' ? [said] : [])))]
  const missing = linesOf(answers).filter((line) => {
    const at = more.indexOf(line)
    if (at !== -1) more.splice(at, 1)
    return at === -1
  })
  return { missing, more }
}
