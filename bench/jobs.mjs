export const jobs = async () => {}
