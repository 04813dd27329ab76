import { mayActOn, maySteer } from '../runs/active-runs.ts'
import { plain, texts } from '../texts.ts'
import { type Command, CommandRefusal, type CommandServices } from './command.ts'

/**
 * Sends a prompt into the running turn of the chat. Refuses if the chat has a run of another person, unless an admin sends
 * it. Queues the prompt if there is no run to steer, and has no reply if the prompt starts at once.
 */
export function steerCommand({ state, runner, runs, people }: CommandServices): Command {
  return {
    name: 'steer',
    usage: '<text>',
    description: 'tell the agent something while it works',
    isOnce: true,
    isPrompting: true,
    run: async ({ entry, place, rest }) => {
      if (rest === '' && entry.files.length === 0) return { text: plain(texts.steerWhat) }
      const prompt = { ...entry, text: rest, isCommand: false }
      const others = runs.active(place).find((run) => !mayActOn(run, entry, people))
      if (others) throw new CommandRefusal(texts.othersRun(plain(others.execution().prompt.actor.name)))
      const isAllowed = runs.active(place).every((run) => maySteer(run, prompt, people))
      if (isAllowed && (await runner.canSteer(prompt))) {
        await runner.beginNow(prompt, [])
        return { text: texts.steered }
      }
      const isBusy = runs.active(place).length > 0
      await state.commit([runner.enqueue(prompt)])
      runner.startQueue(place)
      const id = runner.queueIDOf(prompt)
      const number = isBusy
        ? (await runner.queuedPrompts(place)).findIndex((one) => runner.queueIDOf(one) === id) + 1
        : 0
      return number > 0 ? { text: texts.queued(number) } : undefined
    },
  }
}
