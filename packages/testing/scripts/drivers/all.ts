import { askDrivers } from './asks.ts'
import { begin, type Driver, type Drivers } from './driver.ts'
import { endDrivers } from './ends.ts'
import { secondDrivers } from './second.ts'
import { turnDrivers } from './turns.ts'

/** Sends one prompt, and waits until its run has ended. */
const whole: Driver = async (kit) => {
  await kit.idle(await begin(kit))
}

const drivers: Drivers = { ...askDrivers, ...endDrivers, ...turnDrivers, ...secondDrivers }

/** Returns the driver of a scenario. By default, one that only sends its prompt. */
export const driverFor = (scenario: string): Driver => drivers[scenario] ?? whole
