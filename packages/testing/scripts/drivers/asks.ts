import { answer, asked, type Drivers, during, permit } from './driver.ts'

/** The drivers that answer questions and permissions. */
export const askDrivers: Drivers = {
  question: during((kit) => answer(kit, [['Blue']])),
  'questions-multi': during((kit) => answer(kit, [['Red'], ['Cheese', 'Olives'], ['Rex']])),
  'question-rejected': during(async (kit) => {
    await kit.wire.dismiss(await asked(kit, 'question'))
  }),
  'permission-once': during((kit) => permit(kit, 'once')),
  'permission-always': during((kit) => permit(kit, 'always')),
  'permission-always-parallel': during(async (kit) => {
    await asked(kit, 'permission', 1)
    await permit(kit, 'always')
  }),
  'permission-rejected': during((kit) => permit(kit, 'reject')),
  'permission-rejected-message': during((kit) => permit(kit, 'reject', 0, 'Not on a Sunday.')),
  'permission-rejected-parallel': during(async (kit) => {
    await asked(kit, 'permission', 1)
    await permit(kit, 'reject')
  }),
  'rejected-then-prompt': async (kit) => {
    await during((each) => permit(each, 'reject'))(kit)
    await kit.settled()
    await kit.turn(await kit.idle(), { script: 'rejected-then-prompt/second' })
  },
  'permission-twice': during(async (kit) => {
    await permit(kit, 'once')
    await permit(kit, 'once', 1)
  }),
  'permission-edit': during((kit) => permit(kit, 'once')),
  'subagent-permission': during((kit) => permit(kit, 'once')),
  'subagent-nested-permission': during((kit) => permit(kit, 'once')),
  'subagent-question': during((kit) => answer(kit, [['Red']])),
}
